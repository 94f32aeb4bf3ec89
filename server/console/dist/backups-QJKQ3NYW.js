import{D as t,Z as e}from"./chunk-7NBBQEJY.js";function a(){return t(e,{title:"Backups",children:t("p",{children:"Not made yet."})})}export{a as default};
