import{K as e,w as t}from"./chunk-2Z6O34JP.js";function n(){return t(e,{title:"Event functions",children:t("p",{children:"Not made yet."})})}export{n as default};
