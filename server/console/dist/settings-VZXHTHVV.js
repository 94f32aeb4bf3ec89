import{K as e,w as t}from"./chunk-2Z6O34JP.js";function o(){return t(e,{title:"Settings",children:t("p",{children:"Not made yet."})})}export{o as default};
