import{D as t,Z as e}from"./chunk-7NBBQEJY.js";function o(){return t(e,{title:"Settings",children:t("p",{children:"Not made yet."})})}export{o as default};
